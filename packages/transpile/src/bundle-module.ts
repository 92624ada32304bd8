export interface BundleOptions {
  /** The path of the file to write. Its source map is beside it, with `.map` after its name. */
  readonly into: string;
  /** Conditions of exports besides those of Node.js. */
  readonly conditions: readonly string[];
}

/**
 * Writes an ES module with all modules of a program, and of packages that are linked from a
 * workspace, into one file. It loads in a fraction of the time of the single files, and TypeScript
 * needs no loader. Installed packages are imported from where they are. `import.meta` refers to the
 * sources. Files that a module loads by a computed name are not included.
 *
 * @param text The first module, in TypeScript. It imports by absolute paths.
 * @throws The error of esbuild for sources that it cannot read.
 */
export async function bundleModule(text: string, options: BundleOptions): Promise<void> {
  const { writeBundle } = await import('./write-bundle.js');
  return writeBundle(text, options);
}
