import ts from 'typescript';
import { expect, it } from 'vitest';
import { filesUnder, isForTests } from './reading/repository.js';
import { parse } from './reading/syntax.js';
import { MODULE_STATE } from './rules/module-state.js';

it('no module of a package has a variable that is assigned later, but for a list that shrinks', () => {
  const files = filesUnder('packages', ['.ts']).filter((path) => /\/src\//.test(path) && !isForTests(path));
  const found = files.flatMap((path) =>
    parse(path)
      .statements.filter(ts.isVariableStatement)
      .filter(({ declarationList }) => (declarationList.flags & ts.NodeFlags.Let) !== 0)
      .flatMap(({ declarationList }) => declarationList.declarations)
      .map(({ name }) => `${path}#${name.getText()}`),
  );
  expect(found.toSorted()).toEqual(MODULE_STATE);
});
