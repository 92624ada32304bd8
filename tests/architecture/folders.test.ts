import * as tfKernels from '@tensorflow/tfjs-core/dist/kernel_names.js';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, isForTests, packages, readText, root, sourcesOf } from './reading/repository.js';
import { importsOf, nodesOf, parse } from './reading/syntax.js';

const sources = packages.flatMap(sourcesOf);

interface Entries {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly main?: string;
  readonly types?: string;
}
const isCode = (path: string) => !isForTests(path);

describe('folders', () => {
  it('are named after what they contain', () => {
    const vague = sources.filter((path) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(path));
    expect(vague, 'are named after no content: utils, helpers, common, misc').toEqual([]);
    expect(sources.filter((path) => basename(path) === 'types.ts')).toEqual([]);
    expect(sources.length).toBeGreaterThan(150);
  });

  it('have an index.ts that only exports, one in each package', () => {
    const indexes = sources.filter((path) => basename(path) === 'index.ts');
    const withMore = indexes.filter((path) => path !== KERNEL_LIST && !onlyExports(path));
    expect(withMore, "have statements besides `export … from './file.js'`").toEqual([]);
    const without = packages
      .map(({ folder }) => folder)
      .filter((folder) => !indexes.includes(`${folder}/src/index.ts`));
    expect(without, 'have no src/index.ts').toEqual([]);
  });

  it('have a README.md in each package', () => {
    const documented = packages.filter(({ folder }) => existsSync(join(root, folder, 'README.md')));
    expect(documented.map(({ folder }) => folder)).toEqual(packages.map(({ folder }) => folder));
  });

  it('are found by compilers that do not read exports, as those of notebooks', () => {
    const others = packages
      .map(({ folder }) => [folder, JSON.parse(readText(`${folder}/package.json`)) as Entries] as const)
      .filter(([, { exports, main, types }]) => {
        const entry = exports['.'];
        return entry && (main !== entry.default || types !== entry.types);
      });
    expect(
      others.map(([folder]) => folder),
      "need main and types in package.json as exports['.'] has them",
    ).toEqual([]);
  });
});

function onlyExports(path: string): boolean {
  return parse(path).statements.every(
    (statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined,
  );
}

const KERNELS = 'packages/kernels/src/kernels';
/** In addition to its exports, it lists the kernels. */
const KERNEL_LIST = `${KERNELS}/index.ts`;

describe('kernels', () => {
  const files = filesUnder(KERNELS, ['.ts']).filter((path) => isCode(path) && path !== KERNEL_LIST);
  const names = files.map((path) => basename(path, '.ts'));

  it('are in one file each, which is named after the tfjs kernel', () => {
    expect(files.filter((path) => dirname(path) !== KERNELS)).toEqual([]);
    expect(names.filter((name) => !(name in tfKernels))).toEqual([]);
    expect(files.length).toBeGreaterThan(50);
  });

  it('register under the name of their file', () => {
    const others = files.filter((path) => !takesKernelName(path, basename(path, '.ts')));
    expect(others).toEqual([]);
  });

  it('are all in the list', () => {
    const listed = importsOf(KERNEL_LIST).map(({ specifier }) => specifier);
    const files = listed.filter((specifier) => specifier.startsWith('./'));
    expect(files.map((specifier) => basename(specifier, '.js')).sort()).toEqual([...names].sort());
    expect(namesInList()).toEqual(importedNames());
  });

  it('name no device', () => {
    const shared = filesUnder('packages/kernels/src/families', ['.ts']).filter(isCode);
    const naming = [...files, ...shared].filter((path) => /['"`](cpu|cuda)\b/.test(readText(path)));
    expect(naming).toEqual([]);
    expect(shared.length).toBeGreaterThan(5);
  });
});

/** The kernel's name comes from tfjs-core, so a typing error does not compile. */
function takesKernelName(path: string, name: string): boolean {
  return nodesOf(parse(path)).some(
    (node) =>
      ts.isImportSpecifier(node) &&
      (node.propertyName ?? node.name).text === name &&
      (node.parent.parent.parent.moduleSpecifier as ts.StringLiteral).text === '@tensorflow/tfjs-core',
  );
}

function importedNames(): string[] {
  const specifiers = nodesOf(parse(KERNEL_LIST)).filter(ts.isImportSpecifier);
  const values = specifiers.filter(
    (specifier) => !specifier.isTypeOnly && !specifier.parent.parent.phaseModifier,
  );
  return values.map(({ name }) => name.text).sort();
}

function namesInList(): string[] {
  const arrays = nodesOf(parse(KERNEL_LIST)).filter(ts.isArrayLiteralExpression);
  return arrays.flatMap(({ elements }) => elements.map((element) => element.getText())).sort();
}
