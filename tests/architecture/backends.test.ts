import ts from 'typescript';
import { expect, it } from 'vitest';
import { isForTests, packages, readText, sourcesOf } from './reading/repository.js';
import { nodesOf, parse } from './reading/syntax.js';
import { NAMES_A_BACKEND } from './rules/exceptions.js';

/** Code that the backend `acc` registers. */
const OF_ACC = 'packages/kernels/src/acc-layer/';
const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path));

const filesWith = (isFound: (node: ts.Node) => boolean) =>
  files.filter((path) => /backend/i.test(readText(path)) && nodesOf(parse(path)).some(isFound));

/** `x instanceof AccBackend`. */
function asksForAcc(node: ts.Node): boolean {
  return (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword &&
    node.right.getText() === 'AccBackend'
  );
}

const EQUALITY = [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken];
const NAME_OF_A_BACKEND = /^(BACKEND_NAME|['"`](acc|cpu|tensorflow|wasm|webgl|webgpu)['"`])$/;

/** `getBackend() === 'acc'`, `backendName !== BACKEND_NAME`. */
function comparesName(node: ts.Node): boolean {
  if (!ts.isBinaryExpression(node) || !EQUALITY.includes(node.operatorToken.kind)) return false;
  const sides = [node.left.getText(), node.right.getText()];
  return (
    sides.includes('BACKEND_NAME') ||
    (sides.some((side) => NAME_OF_A_BACKEND.test(side)) &&
      sides.some((side) => /backend(Name)?(\(\))?$/i.test(side)))
  );
}

it('only the layer of acc asks whether a backend is acc; all other code uses slots', () => {
  const asking = filesWith(asksForAcc);
  expect(asking).toEqual([`${OF_ACC}active-acc.ts`]);
  expect(files.length).toBeGreaterThan(300);
});

it('names of backends are compared only in named files', () => {
  expect(filesWith(comparesName)).toEqual(NAMES_A_BACKEND.map(({ where }) => where));
});
