export interface PackedManifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly sideEffects: false | readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}
export function packedManifest(manifest: object, hosted: Readonly<Record<string, object>>): PackedManifest;
export function withInstalledNames(text: string, hosted?: string): string;
