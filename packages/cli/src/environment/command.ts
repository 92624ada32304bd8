import { AccError } from '@acc/contract';
import type { Command } from 'commander';

interface EnvFlags {
  readonly json?: boolean;
  readonly explain?: boolean;
  readonly configFile?: string;
}

/** Adds the command `env` to the program. */
export function addEnvCommand(program: Command): void {
  program
    .command('env')
    .description('show what was found, what is missing, and the command that installs it')
    .option('--json', 'as JSON')
    .option('--explain', 'show where the value of each option comes from')
    .option('--config-file <FILE>', 'with --explain: the config file')
    .action(async ({ json, explain, configFile }: EnvFlags) => {
      if (explain) return explainOptions(json, configFile);
      if (configFile !== undefined) throw needsExplain();
      const [{ inspectEnvironment }, { formatReport }] = await Promise.all([
        import('./inspect.js'),
        import('./format.js'),
      ]);
      const report = inspectEnvironment(process.cwd(), process.env);
      process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : formatReport(report));
    });
}

async function explainOptions(json: boolean | undefined, configFile: string | undefined): Promise<void> {
  const [{ readConfiguration, workingFolder }, { formatExplanation }] = await Promise.all([
    import('@acc/config'),
    import('./explain.js'),
  ]);
  const configuration = await readConfiguration(process.env, workingFolder(), configFile);
  process.stdout.write(
    json ? `${JSON.stringify(configuration, undefined, 2)}\n` : formatExplanation(configuration),
  );
}

function needsExplain(): AccError {
  return new AccError('ACC_BAD_OPTION', '--config-file has an effect with --explain only.', {
    help: 'npx acc env --explain --config-file FILE',
  });
}
