/** The part of eslint-scope that is used here. The package has no types of its own. */
declare module 'eslint-scope' {
  import type { Program } from 'acorn';

  interface Scope {
    /** References to names that neither the scope nor one above it declares. */
    readonly through: readonly { readonly identifier: { readonly name: string } }[];
  }

  export function analyze(
    program: Program,
    options: { readonly ecmaVersion: number },
  ): { readonly globalScope: Scope | null };
}
