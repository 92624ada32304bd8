import { readFileSync } from 'node:fs';
import type { FileContent } from './read-file.js';

/**
 * Reads and validates a config file (YAML 1.2). The parser is loaded only here, because most programs
 * have no file.
 *
 * @throws AccError `ACC_CONFIG_INVALID` if it is not YAML, `ACC_UNKNOWN_OPTION` with the nearest
 * name, `ACC_INVALID_OPTION`; each with the line.
 */
export async function loadConfigFile(path: string): Promise<FileContent> {
  return parseConfig(readFileSync(path, 'utf8'), path);
}

/** As {@link loadConfigFile}, of a text. */
export async function parseConfig(text: string, path: string): Promise<FileContent> {
  const reading = await import('./read-file.js');
  return reading.parseConfigText(text, path);
}
