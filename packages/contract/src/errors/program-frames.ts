/** The number of the program's frames that a stack keeps. */
const MOST_FRAMES = 3;
/** The number of frames that a stack keeps if the program has none. */
const FIRST_FRAMES = 4;

/**
 * A stack with the program's own frames: those outside of `node_modules`, of Node.js and of this
 * project's packages. Without any, it keeps the first frames. It keeps all frames of a program that a
 * bundler has put into one file with this package.
 *
 * @param message The message of the error, which may have several lines.
 */
export function programStack(stack: string, message: string): string {
  if (packagesFolder() === undefined) return stack;
  const end = stack.indexOf(message) + message.length;
  const [rest, ...frames] = stack.slice(end).split('\n');
  const ofProgram = programFrames(frames);
  const kept = ofProgram.length > 0 ? ofProgram : frames.slice(0, FIRST_FRAMES);
  return [stack.slice(0, end) + rest!, ...kept].join('\n');
}

/**
 * The first frames that are the program's own. All frames if a bundler has put this package into it. A
 * source map may place a frame of a library outside of `node_modules`, in a source that is not installed:
 * such frames count only if no file of the program exists either.
 */
export function programFrames(frames: readonly string[]): readonly string[] {
  if (packagesFolder() === undefined) return frames;
  const own = frames.filter(isProgram);
  const existing = own.filter(isInstalled);
  return (existing.length > 0 ? existing : own).slice(0, MOST_FRAMES);
}

interface Builtins {
  getBuiltinModule?(name: 'node:fs'): { existsSync(path: string | URL): boolean };
}

function isInstalled(frame: string): boolean {
  const { process } = globalThis as { process?: Builtins };
  const [, scheme, path] = /[( ](file:\/\/)?((?:[A-Za-z]:)?[\\/][^()]*):\d+:\d+\)?$/.exec(frame) ?? [];
  if (path === undefined || !process?.getBuiltinModule) return true;
  const { existsSync } = process.getBuiltinModule('node:fs');
  return existsSync(scheme ? new URL(scheme + path) : path);
}

/** The folder of this project's packages: `packages/` of a checkout, or `node_modules/@acc/`. */
function packagesFolder(): string | undefined {
  // Bundlers leave nothing of `import.meta` in some formats.
  const { url = '' } = import.meta as { readonly url?: string };
  return /^(?:file:\/\/)?(.*\/)contract\/(?:src|dist)\//.exec(url)?.[1];
}

/**
 * Whether a file is code of this project's packages, installed or in a checkout. Tests beside their sources
 * are not. Nothing is if a bundler has put this package into a program.
 *
 * @param path A path or URL with `/` between folders, or a frame of a stack with one.
 */
export function isOfThisProject(path: string): boolean {
  if (path.includes('/node_modules/@acc/')) return true;
  const packages = packagesFolder();
  const [, inPackages] = packages === undefined ? [] : path.replace('file://', '').split(packages);
  return inPackages !== undefined && /^[\w-]+\/(src|dist)\//.test(inPackages) && !path.includes('.test.');
}

function isProgram(frame: string): boolean {
  const path = frame.replaceAll('\\', '/');
  if (!/:\d+:\d+\)?$/.test(path) || path.includes('/node_modules/') || /[( ]node:/.test(path)) return false;
  return !isOfThisProject(path);
}
