import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { isForTests, packages, root, sourcesOf } from './reading/repository.js';
import { importsOf, parse } from './reading/syntax.js';
import { SIDE_EFFECT_IMPORTS, SIDE_EFFECTS, type Exception } from './rules/exceptions.js';

const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path));
const where = (exceptions: readonly Exception[]) => exceptions.map((exception) => exception.where).sort();

describe('importing a package', () => {
  it('changes neither the process nor tfjs, except that core notes choices of a backend and uncaught errors, and silences advice to install tfjs-node', () => {
    const script = join(import.meta.dirname, 'reading', 'import-all.mjs');
    const names = packages.map(({ manifest }) => manifest.name);
    const tsx = pathToFileURL(join(root, 'node_modules', 'tsx', 'dist', 'loader.mjs')).href;
    const args = ['--conditions=@acc/source', '--import', tsx, script, ...names];
    const changes = JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })) as {
      imported: string[];
      changed: unknown[];
    };
    const listens = {
      name: '@acc/core',
      key: 'listeners',
      was: '["exit","newListener","removeListener","warning"]',
      is: '["beforeExit","exit","newListener","removeListener","uncaughtExceptionMonitor","warning"]',
    };
    const noted = {
      name: '@acc/core',
      key: 'changedMethods',
      was: '[]',
      is: '["initializeBackend","setBackend"]',
    };
    expect(changes).toEqual({ imported: names, changed: [noted, listens] });
  });

  it('runs no statements, except in modules that exist for that', () => {
    const acting = files.filter((path) =>
      parse(path).statements.some((statement) => !isDeclaration(statement)),
    );
    expect(acting.sort()).toEqual(where(SIDE_EFFECTS));
    expect(files.length).toBeGreaterThan(100);
  });

  it('imports nothing for its effect', () => {
    const importing = files.filter(
      (path) => importsOf(path).some(({ isForEffect }) => isForEffect) && !where(SIDE_EFFECTS).includes(path),
    );
    expect(importing.sort()).toEqual(where(SIDE_EFFECT_IMPORTS));
  });

  it('is declared free of side effects in package.json', () => {
    for (const { folder, manifest } of packages) {
      const acting = files.filter(
        (path) => path.startsWith(`${folder}/`) && where(SIDE_EFFECTS).includes(path),
      );
      const declared = acting.map((path) => path.replace(folder, '.'));
      const expected = declared.length === 0 ? false : expect.arrayContaining(declared);
      expect({ folder, sideEffects: manifest.sideEffects }).toEqual({ folder, sideEffects: expected });
    }
  });
});

function isDeclaration(statement: ts.Statement): boolean {
  return (
    ts.isImportDeclaration(statement) ||
    ts.isExportDeclaration(statement) ||
    ts.isExportAssignment(statement) ||
    ts.isVariableStatement(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isModuleDeclaration(statement)
  );
}
