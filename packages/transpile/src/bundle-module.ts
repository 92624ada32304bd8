import type { BundleOptions } from './bundle-options.js';

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
