import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AccError, isRecord, jsonMistake, type AccErrorOptions } from '@acc/contract';
import { configText, parseConfig } from '@acc/config';
import { parse } from 'yaml';
import { ACCELERATE_RULES } from './accelerate.js';
import { DEEPSPEED_RULES } from './deepspeed.js';
import { Draft, leavesOf, ruleFor, type ConvertedKey } from './draft.js';
import type { Rules } from './outcome.js';

/** A config file in the format of `acc config`, and what became of each key of the original. */
export interface Conversion {
  readonly format: string;
  readonly text: string;
  readonly keys: readonly ConvertedKey[];
}

interface Format {
  readonly name: string;
  readonly rules: Rules;
}

const ACCELERATE: Format = { name: 'Hugging Face Accelerate', rules: ACCELERATE_RULES };
const DEEPSPEED: Format = { name: 'DeepSpeed', rules: DEEPSPEED_RULES };
const OTHER_FORMATS = 'Give a file of accelerate config, or a JSON configuration of DeepSpeed.';
/** A key of Accelerate's files that names a file of DeepSpeed. */
const OTHER_FILE = 'deepspeed_config.deepspeed_config_file';

/**
 * Converts a file of `accelerate config` or a configuration of DeepSpeed. A file of DeepSpeed that
 * the former names is converted with it.
 *
 * @param path An absolute path.
 * @throws AccError `ACC_CONVERT_MISSING`, `ACC_CONVERT_INVALID`, `ACC_CONVERT_UNKNOWN`.
 */
export async function convertConfig(path: string): Promise<Conversion> {
  const content = readForeign(path);
  const { name, rules } = formatOf(content, path);
  const draft = new Draft();
  const other = rules === ACCELERATE_RULES ? otherFile(content, path) : undefined;
  draft.addFile(content, { ...rules, [OTHER_FILE]: () => referred(other) });
  if (other !== undefined) draft.addFile(readForeign(other), DEEPSPEED_RULES, `${basename(other)}: `);
  const text = configText(draft.values);
  // What is written can be read.
  await parseConfig(text, 'the converted file');
  return { format: name, text, keys: draft.keys };
}

function referred(other: string | undefined) {
  return other === undefined
    ? ({ kind: 'leftOut', note: 'there is no such file here. Convert it by itself' } as const)
    : ({ kind: 'taken', settings: [], note: 'its keys follow' } as const);
}

/** The file that Accelerate's file names, from its own folder or the working directory. */
function otherFile(content: Readonly<Record<string, unknown>>, path: string): string | undefined {
  const section = content['deepspeed_config'];
  const named = isRecord(section) ? section['deepspeed_config_file'] : undefined;
  if (typeof named !== 'string') return undefined;
  return [resolve(dirname(path), named), resolve(named)].find(existsSync);
}

function readForeign(path: string): Readonly<Record<string, unknown>> {
  const text = readText(path);
  let content: unknown;
  try {
    content = parseText(text);
  } catch (cause) {
    if (!isJson(text))
      throw invalid(path, `is neither JSON nor YAML: ${(cause as Error).message.trimEnd()}`, { cause });
    const { problem, help } = jsonMistake(text, cause);
    throw invalid(path, `is not valid JSON: ${problem}`, { help, cause });
  }
  if (!isRecord(content)) throw invalid(path, 'holds no options by name.');
  return content;
}

const isJson = (text: string): boolean => text.trimStart().startsWith('{');

/** PyYAML, which Accelerate reads with, has the rules of YAML 1.1: a plain `no` is false. */
function parseText(text: string): unknown {
  return isJson(text) ? JSON.parse(text) : parse(text, { version: '1.1' });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AccError('ACC_CONVERT_MISSING', `${path} cannot be read: ${(cause as Error).message}`, {
      help: "Accelerate's own file is ~/.cache/huggingface/accelerate/default_config.yaml.",
      details: { path },
      cause,
    });
  }
}

/** The format of which the file has more keys. */
function formatOf(content: Readonly<Record<string, unknown>>, path: string): Format {
  if (content['compute_environment'] === 'AMAZON_SAGEMAKER') {
    throw unknown(path, 'is for SageMaker, which starts jobs by its own interface');
  }
  if ('launch' in content || 'accelerator' in content)
    throw unknown(
      path,
      'is a file of acc config already',
      `Use it as it is: npx acc launch --config-file ${path} SCRIPT`,
    );
  const keys = leavesOf(content).map(([key]) => key);
  const countOf = ({ rules }: Format) => keys.filter((key) => ruleFor(key, rules)).length;
  const [ofAccelerate, ofDeepspeed] = [countOf(ACCELERATE), countOf(DEEPSPEED)];
  if (ofAccelerate + ofDeepspeed === 0) throw unknown(path, 'has no key of Accelerate or DeepSpeed');
  return ofAccelerate >= ofDeepspeed ? ACCELERATE : DEEPSPEED;
}

function invalid(
  path: string,
  what: string,
  { help = OTHER_FORMATS, cause }: AccErrorOptions = {},
): AccError {
  return new AccError('ACC_CONVERT_INVALID', `${path} ${what}`, { help, details: { path }, cause });
}

function unknown(path: string, what: string, help = OTHER_FORMATS): AccError {
  return new AccError('ACC_CONVERT_UNKNOWN', `${path} ${what}.`, {
    help,
    details: { path },
  });
}
