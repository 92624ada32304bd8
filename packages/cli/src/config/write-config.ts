import { existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PROJECT_FILE } from '@acc/config';
import { AccError } from '@acc/contract';
import { files } from '@acc/platform';

/** @throws AccError `ACC_CONFIG_NOT_WRITABLE` if the path is that of a folder. */
export function requireNoFolder(path: string): void {
  if (!existsSync(path) || !statSync(path).isDirectory()) return;
  throw new AccError('ACC_CONFIG_NOT_WRITABLE', `${path} is a folder, not a config file.`, {
    help: `Name a file in it, for example: --config-file ${join(path, PROJECT_FILE)}`,
    details: { path },
  });
}

/** @throws AccError `ACC_CONFIG_EXISTS`. */
export function requireAbsent(path: string): void {
  if (!existsSync(path)) return;
  throw new AccError('ACC_CONFIG_EXISTS', `${path} exists already.`, {
    help: 'Edit it, or replace it with --force.',
    details: { path },
  });
}

/** Writes a config file and its folder. @throws AccError `ACC_CONFIG_NOT_WRITABLE`. */
export function writeConfig(path: string, text: string): void {
  try {
    files.makeFolder(dirname(path));
    writeFileSync(path, text);
  } catch (cause) {
    throw new AccError('ACC_CONFIG_NOT_WRITABLE', `${path} cannot be written: ${(cause as Error).message}`, {
      help: 'Choose another file.',
      details: { path },
      cause,
    });
  }
}
