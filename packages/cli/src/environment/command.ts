import type { Command } from 'commander';

/** Adds the command `env` to the program. */
export function addEnvCommand(program: Command): void {
  program
    .command('env')
    .description('show what was found, what is missing, and the command that installs it')
    .option('--json', 'as JSON')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const [{ inspectEnvironment }, { formatReport }] = await Promise.all([
        import('./inspect.js'),
        import('./format.js'),
      ]);
      const report = inspectEnvironment(process.cwd(), process.env);
      process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : formatReport(report));
    });
}
