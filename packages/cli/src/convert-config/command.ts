import { resolve } from 'node:path';
import { PROJECT_FILE, workingFolder } from '@acc/config';
import type { Command } from 'commander';

interface ConvertFlags {
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Adds the command `convert-config` to the program. */
export function addConvertConfigCommand(program: Command): void {
  program
    .command('convert-config')
    .description('write a config file from one of Hugging Face Accelerate or DeepSpeed')
    .argument('<file>', "a YAML file of accelerate config, or DeepSpeed's JSON")
    .option('--output <FILE>', "where to write, or '-' for stdout", PROJECT_FILE)
    .option('--force', 'replace an existing file')
    .option('--json', 'the list of keys as JSON')
    .action(async (file: string, flags: ConvertFlags) => runConvert(file, flags, workingFolder()));
}

async function runConvert(file: string, { output, force, json }: ConvertFlags, cwd: string): Promise<void> {
  const [{ convertConfig }, { conversionReport, formatConversion }, { requireAbsent, writeConfig }] =
    await Promise.all([import('./convert.js'), import('./report.js'), import('../config/write-config.js')]);
  const path = resolve(cwd, output);
  const conversion = await convertConfig(resolve(cwd, file));
  if (output !== '-' && !force) requireAbsent(path);
  const list = json
    ? `${JSON.stringify(conversionReport(conversion, output === '-' ? '-' : path), undefined, 2)}\n`
    : formatConversion(conversion, file);
  if (output !== '-') {
    writeConfig(path, conversion.text);
    process.stdout.write(json ? list : `${list}\n${path}\n`);
  } else if (json) {
    process.stdout.write(list);
  } else {
    process.stdout.write(conversion.text);
    process.stderr.write(list);
  }
}
