import * as nodeModule from 'node:module';
import { CommonJsModule } from './commonjs-module.js';
import { facadesOf, type Facades } from './loading-hooks.js';
import type { Script } from './script.js';

type ImportFunction = (specifier: string, options?: ImportCallOptions) => Promise<unknown>;

/** What `import()` does that is written in a file. */
export function importFrom(path: string): ImportFunction {
  const module = new CommonJsModule(path);
  module._compile('module.exports = (specifier, options) => import(specifier, options);', path);
  return module.exports as ImportFunction;
}

let isOpen = false;

/**
 * Lets all imports of this process find the modules of the script. Until then only those do that were
 * known when it was prepared. It is called before another module is imported, because on Node.js 20
 * it starts a thread.
 */
export function openToImports({ names }: Script, loader: string): void {
  if (isOpen) return;
  isOpen = true;
  const facades: Facades = { names: names(), loader };
  if ('registerHooks' in nodeModule) {
    const load = facadesOf(facades);
    (nodeModule.registerHooks as (hooks: object) => void)({ load });
  } else nodeModule.register('./hooks.js', import.meta.url, { data: facades });
}
