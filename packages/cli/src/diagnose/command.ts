import type { Command } from 'commander';

/** Adds the command `diagnose` to the program. */
export function addDiagnoseCommand(program: Command): void {
  program
    .command('diagnose')
    .description('say what holds a training back, by the records of its run, and what a change would gain')
    .argument('<run>', 'the folder of a run with autoLog, such as runs/mnist/1, or a file of records in it')
    .option('--json', 'the findings as JSON; the rest goes to stderr')
    .option('--follow', 'tell of findings while the run goes on, until it ends; with --json, a line each')
    .action(async (path: string, { json, follow: isFollowed }: { json?: boolean; follow?: boolean }) => {
      if (isFollowed) {
        const { follow } = await import('./follow.js');
        return follow(path, json ?? false, { write: (text) => void process.stdout.write(text) });
      }
      const [{ diagnose }, { formatDiagnosis, formatRest }] = await Promise.all([
        import('@acc/records'),
        import('./report.js'),
      ]);
      const diagnosis = await diagnose(path);
      if (json) {
        process.stderr.write(formatRest(diagnosis));
        process.stdout.write(`${JSON.stringify(diagnosis.findings, undefined, 2)}\n`);
        return;
      }
      process.stdout.write(formatDiagnosis(diagnosis));
    });
}
