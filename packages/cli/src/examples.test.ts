import { describe, expect, it } from 'vitest';
import { EXAMPLES, withSubcommands } from './examples.js';
import { createProgram } from './program.js';
import { fullName } from './usage.js';

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
    let help = '';
    const command = commands.find((one) => fullName(one) === name)!;
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help.trimEnd().endsWith(examples.at(-1)!)).toBe(true);
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
});
