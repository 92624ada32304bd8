import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, readText } from './reading/repository.js';
import { functionName } from './reading/functions.js';
import { nodesOf, parse } from './reading/syntax.js';
import {
  LONG_FILES,
  LONG_FUNCTIONS,
  MAX_FILE_LINES,
  MAX_FUNCTION_LINES,
  type Exception,
} from './rules/exceptions.js';

const FOLDERS = ['packages', 'examples', 'bench', 'scripts', 'tests'];
const filesOf = (extensions: string[]) => FOLDERS.flatMap((folder) => filesUnder(folder, extensions));

const SCRIPTS = ['.ts', '.mjs', '.cjs', '.js'];
const OTHERS = ['.cpp', '.h', '.py'];

/** Exactly the exceptions: one that is missing and one that is no longer needed both show. */
const expectOnly = (found: string[], exceptions: readonly Exception[]) => {
  expect(found.sort()).toEqual(exceptions.map(({ where }) => where).sort());
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

  it(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
    let seen = 0;
    const long = filesOf(SCRIPTS).flatMap((path) => {
      const file = parse(path);
      return nodesOf(file).flatMap((node) => {
        if (!isFunctionWithBody(node) || isSuite(node)) return [];
        seen++;
        return linesOf(node, file) > MAX_FUNCTION_LINES ? [`${path}#${functionName(node)}`] : [];
      });
    });
    expectOnly(long, LONG_FUNCTIONS);
    expect(seen).toBeGreaterThan(1000);
  });
});

const lineCount = (text: string) => text.split('\n').length - Number(text.endsWith('\n'));

function linesOf(node: ts.Node, file: ts.SourceFile): number {
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  return lineAt(node.getEnd()) - lineAt(node.getStart(file)) + 1;
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

/** What `describe` is given holds the functions; it is none itself. */
function isSuite(node: ts.Node): boolean {
  const call = node.parent;
  return ts.isCallExpression(call) && /^describe\b/.test(call.expression.getText());
}
