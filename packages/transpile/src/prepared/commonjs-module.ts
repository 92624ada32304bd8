import { Module } from 'node:module';

type Extension = (module: CommonJs, filename: string) => void;

/** The methods of Node.js's CommonJS modules that programs replace, and that are therefore kept. */
export interface CommonJs {
  exports: unknown;
  require(name: string): unknown;
  _compile(content: string, filename: string, format?: string): unknown;
}

interface Loader {
  new (id: string): CommonJs;
  readonly prototype: CommonJs;
  readonly _extensions: Record<string, Extension | undefined>;
  readonly _cache: object;
  _resolveFilename(name: string, from: CommonJs, isMain: boolean, options?: object): string;
  _resolveLookupPaths(name: string, from: CommonJs): unknown;
}

export const CommonJsModule = Module as unknown as Loader;
