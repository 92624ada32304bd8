import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AccError } from '@acc/contract';
import { linkTensorflow } from './binding.js';
import { BINDING, readNote, SETUP_NOTE, type SetupNote, type TfjsNodePackage } from './package.js';
import type { TensorflowInstall } from './tensorflow.js';

/** The folders of the package that are replaced. */
const REPLACED = ['deps', 'lib'];
/** Keeps what the package's own install script had put there. */
const BEFORE = '.before-acc-setup';

/**
 * Puts links to TensorFlow and a copy of the binding into the package. What was there, from the
 * package's own install script, is kept for {@link unlinkTfjsNode}. If it is interrupted, a later
 * call completes it.
 *
 * @throws AccError `ACC_TFJS_NODE_NOT_WRITABLE`.
 */
export function linkTfjsNode(found: TfjsNodePackage, tensorflow: TensorflowInstall, binding: string): void {
  const { path } = found;
  const fresh = join(path, `.acc-setup-${process.pid}`);
  guarded(path, () => {
    rmSync(fresh, { recursive: true, force: true });
    linkTensorflow(tensorflow, join(fresh, 'deps'));
    mkdirSync(dirname(join(fresh, BINDING)), { recursive: true });
    copyFileSync(binding, join(fresh, BINDING));
    const { version, variant, root } = tensorflow;
    const note: SetupNote = { tensorflow: version, variant, cache: root };
    writeFileSync(join(fresh, 'deps', SETUP_NOTE), `${JSON.stringify(note, undefined, 2)}\n`);
    if (readNote(path)) removeOurs(path);
    else keepTheirs(path);
    for (const name of REPLACED) renameSync(join(fresh, name), join(path, name));
    rmdirSync(fresh);
  });
}

/**
 * Undoes {@link linkTfjsNode}. If the package's own install script ran after it, the folders of that
 * script stay, and older ones are removed.
 *
 * @returns Whether there was something to undo.
 * @throws AccError `ACC_TFJS_NODE_NOT_WRITABLE`.
 */
export function unlinkTfjsNode({ path }: TfjsNodePackage): boolean {
  const kept = join(path, BEFORE);
  const isOurs = readNote(path) !== undefined;
  if (!isOurs && !existsSync(kept)) return false;
  guarded(path, () => {
    if (isOurs) removeOurs(path);
    for (const name of REPLACED) {
      const isBack = existsSync(join(path, name));
      if (!isBack && existsSync(join(kept, name))) renameSync(join(kept, name), join(path, name));
    }
    rmSync(kept, { recursive: true, force: true });
  });
  return true;
}

/** `lib` goes first: `deps` has the note that tells whose the two folders are. */
function removeOurs(path: string): void {
  for (const name of [...REPLACED].reverse()) rmSync(join(path, name), { recursive: true, force: true });
}

function keepTheirs(path: string): void {
  const kept = join(path, BEFORE);
  for (const name of REPLACED) {
    if (!existsSync(join(path, name))) continue;
    mkdirSync(kept, { recursive: true });
    rmSync(join(kept, name), { recursive: true, force: true });
    renameSync(join(path, name), join(kept, name));
  }
}

function guarded(path: string, change: () => void): void {
  try {
    change();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')) throw error;
    throw new AccError('ACC_TFJS_NODE_NOT_WRITABLE', `Cannot write to ${path} (${code}).`, {
      help: 'Run the command as the user who owns node_modules.',
      cause: error,
    });
  }
}
