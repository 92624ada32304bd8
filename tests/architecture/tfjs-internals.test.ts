import { PATCH_LAYERS } from '@acc/tfjs-internals';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { isForTests, packages, readText, sourcesOf } from './reading/repository.js';
import { nodesOf, parse } from './reading/syntax.js';

const HOME = 'packages/tfjs-internals/';
const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path) && !path.startsWith(HOME));

/**
 * The functions of tfjs-internals that replace members of tfjs, with the position of the name among
 * their arguments.
 */
const PATCHES: Readonly<Record<string, number | undefined>> = {
  patch: 1,
  replaceForGood: 1,
  patchProperty: 1,
  replaceKernel: undefined,
  replaceGradient: undefined,
};

/** A member of core's own, which has the name of one of a tf.data dataset. */
const OF_CORE = /\btrainingStep\.batch$/;

interface Patch {
  readonly path: string;
  /** The member, or `*` if the code computes its name. */
  readonly name: string;
  /** Its layer, or a dash for what has none: replacements for good, properties, entries of registries. */
  readonly layer: string;
}

const textOf = (node: ts.Node | undefined) => (node && ts.isStringLiteral(node) ? node.text : '*');

const patches: readonly Patch[] = files.flatMap((path) =>
  nodesOf(parse(path)).flatMap((node) => {
    if (!ts.isCallExpression(node) || !Object.hasOwn(PATCHES, node.expression.getText())) return [];
    const called = node.expression.getText();
    const place = PATCHES[called];
    const name = place === undefined ? '*' : textOf(node.arguments[place]);
    return [{ path, name, layer: called === 'patch' ? textOf(node.arguments[2]) : '-' }];
  }),
);

const TABLE = 'packages/tfjs-internals/DESIGN.md';

/** `layer | member | file` of each patch, those without a layer first. */
const listed = (all: Iterable<string>): string[] => {
  const ranks = ['-', ...PATCH_LAYERS];
  const rank = (row: string) => ranks.indexOf(row.split(' | ')[0]!);
  return [...new Set(all)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
};

/** The rows of the table in DESIGN.md, in its order; one for each member of a row. */
function rowsOfTable(): string[] {
  const rows = readText(TABLE)
    .split('\n')
    .filter((line) => /^\|.*`.*`/.test(line));
  const quoted = (cell: string) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, text]) => text!);
  return rows.flatMap((row) => {
    const [, layer, members, file] = row.split('|') as [string, string, string, string];
    const [path] = quoted(file);
    return quoted(members).map((member) => `${layer.trim()} | ${member} | ${path!}`);
  });
}

/** Objects of tfjs, by the usual names of their variables. */
const OF_TFJS =
  /(^|\.)(engine\(\)|backend\(\)|tfjs|\w*([eE]ngine|[oO]ptimizer|[mM]odel|[lL]ayer|[tT]ensor|[vV]ariable)|losses|prototype)$/;

/** A cast through `unknown`, and any cast of the engine. */
function isViewOfTfjs(node: ts.Node): boolean {
  if (!ts.isAsExpression(node)) return false;
  const { expression } = node;
  if (/\b(engine|env)\(\)$/.test(expression.getText())) return true;
  const isDouble = ts.isAsExpression(expression) && expression.type.kind === ts.SyntaxKind.UnknownKeyword;
  return isDouble && OF_TFJS.test(expression.expression.getText());
}

const at = (path: string, node: ts.Node) =>
  `${path}:${parse(path).getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${node.getText()}`;

describe('private members of tfjs', () => {
  it('are read only through the views of tfjs-internals', () => {
    const views = files.flatMap((path) =>
      nodesOf(parse(path))
        .filter(isViewOfTfjs)
        .map((node) => at(path, node)),
    );
    expect(views).toEqual([]);
    expect(files.length).toBeGreaterThan(300);
  });

  it('are replaced only by its functions: nobody assigns to a patched member', () => {
    const names = new Set(patches.map(({ name }) => name));
    const assigned = files.flatMap((path) =>
      nodesOf(parse(path))
        .filter(
          (node) =>
            ts.isBinaryExpression(node) &&
            node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
            ts.isPropertyAccessExpression(node.left) &&
            node.left.expression.kind !== ts.SyntaxKind.ThisKeyword &&
            names.has(node.left.name.text) &&
            !OF_CORE.test(node.left.getText()),
        )
        .map((node) => at(path, node)),
    );
    expect(assigned).toEqual([]);
    expect(names.size).toBeGreaterThan(25);
  });

  it('that are patched are exactly those of the table in DESIGN.md, in the order of their layers', () => {
    const found = patches.map(
      ({ path, name, layer }) => `${layer} | ${name} | ${path.replace('packages/', '')}`,
    );
    const rows = rowsOfTable();
    // A failure prints the whole table as the code has it.
    expect(listed(rows)).toEqual(listed(found));
    const order = rows.map((row) => row.split(' | ')[0]);
    expect(order).toEqual(listed(rows).map((row) => row.split(' | ')[0]));
  });

  it('each layer has a patch', () => {
    const used = new Set(patches.map(({ layer }) => layer));
    expect(PATCH_LAYERS.filter((layer) => !used.has(layer))).toEqual([]);
  });
});
