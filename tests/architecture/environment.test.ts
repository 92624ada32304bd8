import ts from 'typescript';
import { expect, it } from 'vitest';
import { isForTests, packages, sourcesOf } from './reading/repository.js';
import { nodesOf, parse } from './reading/syntax.js';
import { ENVIRONMENT } from './rules/exceptions.js';

/** `process.env`, and `process` taken apart or handed on whole. */
function touchesEnvironment(path: string): boolean {
  return nodesOf(parse(path)).some(
    (node) =>
      ts.isIdentifier(node) &&
      node.text === 'env' &&
      ts.isPropertyAccessExpression(node.parent) &&
      node.parent.expression.getText() === 'process',
  );
}

it('the environment is touched in named files only', () => {
  const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path));
  const touching = files.filter(touchesEnvironment);
  expect(touching).toEqual(ENVIRONMENT.map(({ where }) => where).sort());
  expect(files.length).toBeGreaterThan(100);
});
