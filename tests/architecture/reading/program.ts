import { join } from 'node:path';
import ts from 'typescript';
import { root } from './repository.js';

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile).config,
  ts.sys,
  root,
);

/** Enough to check every type. */
const CHECKED: ts.CompilerOptions = {
  ...options,
  composite: false,
  declaration: false,
  declarationMap: false,
  emitDeclarationOnly: false,
  noEmit: true,
  noUnusedLocals: false,
  // As most programs have it.
  noUncheckedIndexedAccess: false,
  skipDefaultLibCheck: true,
};

/**
 * A TypeScript program over texts that lie in no file, with the workspace's packages from source.
 *
 * @param texts By absolute path: where a file with that text would lie.
 */
export function programOfTexts(texts: ReadonlyMap<string, string>, files: readonly string[]): ts.Program {
  const host = ts.createCompilerHost(CHECKED, true);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...rest)
      : ts.createSourceFile(path, text, language, true);
  };
  return ts.createProgram([...texts.keys(), ...files], CHECKED, host);
}

/** A program over our own files alone: names and where they come from, but no types of libraries. Fast. */
export function programOfNames(files: readonly string[]): ts.Program {
  const settings: ts.CompilerOptions = { ...CHECKED, noLib: true, types: [] };
  const host = ts.createCompilerHost(settings, true);
  host.resolveModuleNameLiterals = (literals, from, redirected, resolveOptions) =>
    literals.map(({ text }) => {
      const isOurs = text.startsWith('.') || text.startsWith('@acc/');
      if (!isOurs) return { resolvedModule: undefined };
      return ts.resolveModuleName(
        text,
        from,
        resolveOptions,
        host,
        undefined,
        redirected,
        ts.ModuleKind.ESNext,
      );
    });
  return ts.createProgram(files, settings, host);
}
