import ts from 'typescript';
import { expect, it } from 'vitest';
import { isForTests, packages, sourcesOf } from './reading/repository.js';
import { importsOf, nodesOf, parse } from './reading/syntax.js';
import { ENVIRONMENT } from './rules/exceptions.js';

/**
 * Uses of `process.env`: read, spread or passed on, also through an import of the module `process`,
 * and calls of `environment()` of `@acc/platform`.
 */
function touchesEnvironment(path: string): boolean {
  return (
    importsOf(path).some(({ specifier }) => /^(node:)?process$/.test(specifier)) ||
    nodesOf(parse(path)).some(
      (node) =>
        (ts.isPropertyAccessExpression(node) && /^process\??\.env$/.test(node.getText())) ||
        (ts.isCallExpression(node) && node.getText() === 'environment()') ||
        (ts.isElementAccessExpression(node) && node.expression.getText() === 'process'),
    )
  );
}

it('only named files read the environment', () => {
  const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path));
  const touching = files.filter(touchesEnvironment);
  expect(touching).toEqual(ENVIRONMENT.map(({ where }) => where).sort());
  expect(files.length).toBeGreaterThan(100);
});
