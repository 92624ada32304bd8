import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, isForTests, readText } from './reading/repository.js';
import { functionName } from './reading/functions.js';
import { nodesOf, parse } from './reading/syntax.js';
import {
  LARGE_CLASSES,
  LONG_CPP_FUNCTIONS,
  LONG_FILES,
  LONG_FUNCTIONS,
  MANY_PARAMETERS,
  MAX_CPP_FUNCTION_LINES,
  MAX_FILE_LINES,
  MAX_MEMBERS,
  MAX_PARAMETERS,
  MAX_PRODUCT_FUNCTION_LINES,
  MAX_FUNCTION_LINES,
  type Exception,
} from './rules/exceptions.js';

const FOLDERS = ['packages', 'examples', 'bench', 'scripts', 'site', 'tests'];
const filesOf = (extensions: string[]) => FOLDERS.flatMap((folder) => filesUnder(folder, extensions));

const SCRIPTS = ['.ts', '.mjs', '.cjs', '.js'];
const OTHERS = ['.cpp', '.h', '.py'];

/** Expects exactly the exceptions. Both a missing and an unnecessary exception fail. */
const expectOnly = (found: string[], exceptions: readonly Exception[]) => {
  expect([...new Set(found)].sort()).toEqual(exceptions.map(({ where }) => where).sort());
};

describe('sizes', () => {
  it(`no file has more than ${MAX_FILE_LINES} lines`, () => {
    const files = filesOf([...SCRIPTS, ...OTHERS]);
    expectOnly(
      files.filter((file) => lineCount(readText(file)) > MAX_FILE_LINES),
      LONG_FILES,
    );
    expect(files.length).toBeGreaterThan(250);
  });

  it(`no function has more than ${MAX_FUNCTION_LINES} lines, in packages ${MAX_PRODUCT_FUNCTION_LINES}`, () => {
    const functions = functionsOf(filesOf(SCRIPTS));
    const long = functions.filter(
      ({ path, lines }) => lines > (isOfProduct(path) ? MAX_PRODUCT_FUNCTION_LINES : MAX_FUNCTION_LINES),
    );
    expectOnly(
      long.map(({ where }) => where),
      LONG_FUNCTIONS,
    );
    expect(functions.length).toBeGreaterThan(1000);
  });

  it(`no function in packages has more than ${MAX_PARAMETERS} parameters`, () => {
    const functions = functionsOf(filesUnder('packages', SCRIPTS).filter(isOfProduct));
    expectOnly(
      functions.filter(({ parameters }) => parameters > MAX_PARAMETERS).map(({ where }) => where),
      MANY_PARAMETERS,
    );
    expect(functions.length).toBeGreaterThan(1000);
  });

  it(`no class in packages has more than ${MAX_MEMBERS} members`, () => {
    const classes = filesUnder('packages', SCRIPTS).filter(isOfProduct).flatMap(classesOf);
    const large = classes.filter(({ members }) => members > MAX_MEMBERS).map(({ where }) => where);
    expect(large.toSorted()).toEqual(LARGE_CLASSES);
    expect(classes.length).toBeGreaterThan(100);
  });

  it(`no function in C++ has more than ${MAX_CPP_FUNCTION_LINES} lines`, () => {
    const files = filesUnder('packages/native/cpp', ['.cpp', '.h']);
    const functions = files.filter((path) => !path.includes('/third_party/')).flatMap(cppFunctionsOf);
    expectOnly(
      functions.filter(({ lines }) => lines > MAX_CPP_FUNCTION_LINES).map(({ where }) => where),
      LONG_CPP_FUNCTIONS,
    );
    expect(functions.length).toBeGreaterThan(1000);
  });
});

const lineCount = (text: string) => text.split('\n').length - Number(text.endsWith('\n'));

const isOfProduct = (path: string) => /^packages\/[^/]+\/src\//.test(path) && !isForTests(path);

interface FunctionSize {
  readonly path: string;
  /** The key of the exception that would cover it. */
  readonly where: string;
  readonly lines: number;
  readonly parameters: number;
}

function functionsOf(paths: readonly string[]): FunctionSize[] {
  return paths.flatMap((path) => {
    const file = parse(path);
    return nodesOf(file).flatMap((node) => {
      if (!isFunctionWithBody(node) || isSuite(node)) return [];
      const where = `${path}#${functionName(node)}`;
      return [{ path, where, lines: ownLinesOf(node, file), parameters: node.parameters.length }];
    });
  });
}

/** The lines of a function. Functions inside it are counted separately. */
function ownLinesOf(node: ts.Node, file: ts.SourceFile): number {
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const between = (inner: ts.Node) => lineAt(inner.getEnd()) - lineAt(inner.getStart(file));
  const withinOf = (outer: ts.Node): number => {
    let lines = 0;
    ts.forEachChild(outer, (child) => {
      lines += isFunctionWithBody(child) ? between(child) : withinOf(child);
    });
    return lines;
  };
  return between(node) + 1 - withinOf(node);
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

/** The callback of `describe` contains functions, but is not counted as one. */
function isSuite(node: ts.Node): boolean {
  const call = node.parent;
  return ts.isCallExpression(call) && /^describe\b/.test(call.expression.getText());
}

interface ClassSize {
  readonly where: string;
  readonly members: number;
}

function classesOf(path: string): ClassSize[] {
  return nodesOf(parse(path))
    .filter(ts.isClassLike)
    .map((node) => ({ where: `${path}#${node.name?.text ?? '(anonymous)'}`, members: node.members.length }));
}

/** The first line of something else with braces: a namespace, a type or a statement. */
const NO_CPP_FUNCTION =
  /^\s*(namespace|struct|class|enum|union|extern|else|if|for|while|switch|do|try|case|return|\}|#|\/)/;

/** The functions and methods of a file that is formatted by clang-format. */
function cppFunctionsOf(path: string): { where: string; lines: number }[] {
  const lines = readText(path).split('\n');
  return lines.flatMap((line, index) => {
    if (!/\)[^()=]*\{$/.test(line)) return [];
    const first = firstLineOf(lines, index);
    const indent = /^ */.exec(lines[first]!)![0];
    if (indent.length > 4 || NO_CPP_FUNCTION.test(lines[first]!)) return [];
    const end = lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`));
    const last = end < 0 ? lines.length : end;
    const name = /([\w~]+)\(/.exec(lines.slice(first, index + 1).join(' '))?.[1];
    return [{ where: `${path}#${name}`, lines: last - first + 1 }];
  });
}

/** The first line of a signature that may have several. */
function firstLineOf(lines: readonly string[], last: number): number {
  const isBefore = (line: string) => line.trim() === '' || /[;{}>:]$|^\s*(\/\/|\*|#)/.test(line);
  let first = last;
  while (first > 0 && !isBefore(lines[first - 1]!)) first--;
  return first;
}
