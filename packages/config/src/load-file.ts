import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AccError } from '@acc/contract';
import { PROJECT_FILE } from './find-file.js';
import type { FileContent } from './read-file.js';

/**
 * Reads and validates a config file (YAML 1.2). The parser is loaded only here, because most programs
 * have no file.
 *
 * @throws AccError `ACC_CONFIG_INVALID` if it cannot be read or is not YAML, `ACC_UNKNOWN_OPTION` with
 * the nearest name, `ACC_INVALID_OPTION`; the last two with the line.
 */
export async function loadConfigFile(path: string): Promise<FileContent> {
  return parseConfig(textOf(path), path);
}

/** As {@link loadConfigFile}, of a text. */
export async function parseConfig(text: string, path: string): Promise<FileContent> {
  const reading = await import('./read-file.js');
  return reading.parseConfigText(text, path);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isFolder = code === 'EISDIR';
    throw new AccError(
      'ACC_CONFIG_INVALID',
      isFolder ? `${path} is a folder, not a config file.` : `${path} cannot be read: ${message}.`,
      {
        help: isFolder
          ? `Name a file in it, for example ${join(path, PROJECT_FILE)}`
          : 'Make it readable for this user, or give another file with --config-file.',
        details: { path },
        cause,
      },
    );
  }
}
