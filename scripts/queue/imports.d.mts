export interface ImportGraph {
  readonly importsOf: (file: string) => readonly string[];
  readonly reached: (file: string) => ReadonlySet<string>;
}

export function specifiersIn(text: string): string[];
export function importGraph(): ImportGraph;
export function resolveImport(specifier: string, from: string): string;
export function folderOfPackage(name: string): string | undefined;
export function packageOf(specifier: string): string;
