import { join } from 'node:path';
import ts from 'typescript';
import { root } from './repository.js';

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile).config,
  ts.sys,
  root,
);

/** The compiler options that check every type. */
const CHECKED: ts.CompilerOptions = {
  ...options,
  composite: false,
  declaration: false,
  declarationMap: false,
  emitDeclarationOnly: false,
  noEmit: true,
  noUnusedLocals: false,
  // The setting of most programs.
  noUncheckedIndexedAccess: false,
  skipDefaultLibCheck: true,
};

/**
 * A TypeScript program over texts that are not in files, with the packages of the workspace from
 * their sources.
 *
 * @param texts The texts by the absolute paths of their supposed files.
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

/**
 * A fast program over our own files alone. It resolves names and imports, but no types of
 * libraries.
 */
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
