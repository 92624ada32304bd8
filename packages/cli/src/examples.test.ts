import { describe, expect, it } from 'vitest';
import { EXAMPLES, withSubcommands } from './examples.js';
import { createProgram } from './program.js';
import { fullName } from './usage.js';

/** The help of a command on a terminal with this many columns. */
function helpOf(name: string, columns: number): string {
  const command = withSubcommands(createProgram(() => {})).find((one) => fullName(one) === name)!;
  let help = '';
  command.configureOutput({ getOutHelpWidth: () => columns, writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

const commands = withSubcommands(createProgram(() => {}));

/** The command that a line runs, without running it. Its options and arguments are checked. */
async function parsed(words: readonly string[]): Promise<string | undefined> {
  const program = createProgram(() => {});
  let ran: string | undefined;
  for (const command of withSubcommands(program)) {
    if (command !== program) command.action(() => void (ran = fullName(command)));
  }
  await program.parseAsync(words, { from: 'user' });
  return ran;
}

describe('the help of each command', () => {
  it('has examples for exactly the commands that exist', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual(commands.map(fullName).sort());
  });

  it.each(Object.entries(EXAMPLES))('%s ends with 2 to 4 examples that it takes', async (name, examples) => {
    expect(examples.length).toBeGreaterThanOrEqual(2);
    expect(examples.length).toBeLessThanOrEqual(4);
    expect(helpOf(name, 200).trimEnd().endsWith(examples.at(-1)!)).toBe(true);
    for (const example of examples) {
      const [, line] = /npx acc ([^>)|]*)/.exec(example) ?? expect.unreachable(example);
      const ran = await parsed(line!.replaceAll('<hex>', 'hex').trim().split(/\s+/));
      if (name === 'acc') expect(commands.map(fullName)).toContain(ran);
      else
        expect(ran).toBe(
          name === 'acc setup' && example.includes('tfjs-node') ? 'acc setup tfjs-node' : name,
        );
    }
  });

  it.each([72, 80, 120])('fits a terminal of %i columns', (columns) => {
    const lines = commands.flatMap((command) => helpOf(fullName(command), columns).split('\n'));
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  });

  it.each([
    ['acc launch', ['Ranks', 'Several hosts', 'Failures', 'Output', 'Without a start', 'Training']],
    ['acc config', ['File', 'Values']],
    ['acc estimate-memory', ['Model', 'Training', 'Output']],
    ['acc plan', ['Model', 'Cluster', 'Choices that every plan keeps', 'Cost of a training', 'Output']],
    ['acc scale-study', ['Study', 'Ranks', 'Output', 'Training']],
    ['acc test', ['Ranks', 'Output', 'Training']],
    ['acc setup', ['libtorch', 'Addon']],
  ])('%s has its options in groups', (name, groups) => {
    const help = helpOf(name, 80);
    const headings = [...help.matchAll(/^(\w.*):$/gm)].map(([, heading]) => heading);
    expect(headings.filter((heading) => !['Arguments', 'Commands', 'Examples'].includes(heading!))).toEqual(
      expect.arrayContaining([...groups, 'Options']),
    );
    const [, options] = /^Options:\n((?: .*\n)*)/m.exec(help)!;
    expect(options!.match(/^ {2}-/gm)).toHaveLength(1);
  });
});
