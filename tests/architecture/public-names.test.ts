import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { flagsOfCommands, namesIn, variableNames } from './reading/option-names.js';
import { programOfNames } from './reading/program.js';
import { privatePackages, publishedPackages, root, type Workspace } from './reading/repository.js';

/** The source file of each entry point of packages, by the specifier that imports it. */
const entriesOf = (packages: readonly Workspace[]) =>
  new Map(
    packages.flatMap(({ folder, manifest }) =>
      Object.entries(manifest.exports ?? {}).flatMap(([path, target]) =>
        typeof target === 'string'
          ? []
          : [[join(manifest.name, path), join(root, folder, target['@acc/source']!)] as const],
      ),
    ),
  );
const entries = entriesOf(publishedPackages);
const internal = entriesOf(privatePackages);

const program = programOfNames([...entries.values(), ...internal.values()]);
const checker = program.getTypeChecker();

/** The names that users may use. `vitest -u` accepts intended changes. */
it('the public names equal the snapshot', async () => {
  await expect(listed(entries)).toMatchFileSnapshot('public-names.txt');
});

/** The names of private packages, which may change in any release. `vitest -u` accepts changes. */
it('the internal names equal the snapshot', async () => {
  await expect(listed(internal)).toMatchFileSnapshot('internal-names.txt');
});

/** Each specifier with the names that its module exports. */
function listed(modules: ReadonlyMap<string, string>): string {
  const names = [...modules].map(
    ([specifier, path]) => [specifier, exportsOf(program.getSourceFile(path)!)] as const,
  );
  expect(names.flatMap(([, list]) => list).length).toBeGreaterThan(80);
  const text = names.map(([specifier, list]) => [specifier, ...list.map((name) => `  ${name}`)].join('\n'));
  return `${text.join('\n\n')}\n`;
}

/** The options, flags and variables that users may use. `vitest -u` accepts intended changes. */
it('the names of options equal the snapshot', async () => {
  const core = checker.getSymbolAtLocation(program.getSourceFile(entries.get('@acc/core')!)!)!;
  const options = checker.getExportsOfModule(core).find(({ name }) => name === 'AcceleratorOptions')!;
  const type = checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(options));
  const sections = [
    ['Accelerator.create', namesIn(type, checker)],
    ...flagsOfCommands(),
    ['variables', variableNames()],
  ] as const;
  expect(sections.flatMap(([, names]) => names).length).toBeGreaterThan(200);
  const text = sections.map(([title, names]) =>
    [title, ...names.toSorted().map((name) => `  ${name}`)].join('\n'),
  );
  await expect(`${text.join('\n\n')}\n`).toMatchFileSnapshot('option-names.txt');
});

/** The names that a module exports, sorted. Types are marked. */
function exportsOf(file: ts.SourceFile): string[] {
  const module = checker.getSymbolAtLocation(file);
  // The checker does not treat a file without exports as a module.
  if (!module) return [];
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (isValue(symbol) ? symbol.name : `type ${symbol.name}`))
    .sort();
}

function isValue(symbol: ts.Symbol): boolean {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
}

function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some(
    (node) => ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly),
  );
}
