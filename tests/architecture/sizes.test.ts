import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, isForTests, readText } from './reading/repository.js';
import { functionName } from './reading/functions.js';
import { nodesOf, parse } from './reading/syntax.js';
import {
  LONG_FILES,
  LONG_FUNCTIONS,
  MANY_PARAMETERS,
  MAX_FILE_LINES,
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
