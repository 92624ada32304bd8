import type { Command } from 'commander';
import { fullName } from './usage.js';

/** Examples at the end of the help of each command, by its full name. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  acc: ['npx acc setup', 'npx acc config', 'npx acc test -n 2', 'npx acc launch -n 2 train.ts'],
  'acc launch': [
    'npx acc launch -n 4 train.ts --lr 0.1',
    'npx acc launch -n auto --mixed-precision bf16 --strategy fsdp train.ts',
    'npx acc launch --nnodes 2 --node-rank 0 --rdzv-endpoint node0:29500 -n 4 train.ts',
    'npx acc launch --print slurm --nnodes 2 -n 4 train.ts > train.sbatch',
  ],
  'acc config': [
    'npx acc config',
    'npx acc config --default',
    'npx acc config --nproc 2 --mixed-precision bf16 --set gradientClipping.norm=1',
  ],
  'acc convert-config': [
    'npx acc convert-config ~/.cache/huggingface/accelerate/default_config.yaml',
    'npx acc convert-config ds_config.json --output acc.yaml',
    'npx acc convert-config ds_config.json --output -',
  ],
  'acc diagnose': [
    'npx acc diagnose runs/mnist/1',
    'npx acc diagnose runs/mnist/1 --json > findings.json',
    'npx acc diagnose runs/mnist/1 --follow',
  ],
  'acc env': ['npx acc env', 'npx acc env --explain', 'npx acc env --json > environment.json'],
  'acc estimate-memory': [
    'npx acc estimate-memory ./gpt2 --batch 8 --sequence 512 --ranks 2,8',
    'npx acc estimate-memory --parameters 110e6 --optimizer adamw --mixed-precision bf16',
  ],
  'acc plan': [
    'npx acc plan gpt3 --cluster a100-sxm --devices 1024 --batch 1536',
    'npx acc plan ./llama --cluster h100-sxm --devices 64 --batch 512 --tensor 8',
    'npx acc plan llama-3-8b --cluster cluster.json --batch 256 --json',
  ],
  'acc scale-study': [
    'npx acc scale-study train.ts --ranks 1,2,4 --weak',
    'npx acc scale-study train.ts --ranks 1,2,4,8 --strong --turns 5 -- --epochs 1',
  ],
  'acc monitor': ['npx acc monitor', 'npx acc monitor runs/mnist/1 runs/mnist/2 --port 7007 --no-open'],
  'acc merge-weights': [
    'npx acc merge-weights checkpoints/step-00001000 merged',
    'npx acc merge-weights checkpoints/step-00001000 merged --max-shard-size 5GB',
  ],
  'acc test': [
    'npx acc test -n 2',
    'npx acc test -n 4 --engine gloo',
    'npx acc test -n 2 --strategy fsdp --mixed-precision bf16',
    'npx acc test --json > findings.json',
  ],
  'acc setup': [
    'npx acc setup',
    'npx acc setup --offline --from libtorch.zip --sha256 <hex>',
    'npx acc setup tfjs-node',
  ],
  'acc setup tfjs-node': [
    'npx acc setup tfjs-node',
    'npx acc setup tfjs-node --dry-run',
    'npx acc setup tfjs-node --gpu --tensorflow 2.15.1',
  ],
  'acc completion': [
    'source <(npx acc completion bash)',
    'npx acc completion fish > ~/.config/fish/completions/acc.fish',
  ],
};

/** The columns of a help that does not go to a terminal, as commander has them. */
const COLUMNS = 80;

/** Adds the examples to the help of the program and its commands. */
export function addExamples(program: Command): void {
  for (const command of withSubcommands(program)) {
    command.addHelpText('after', () => {
      const columns = command.configureOutput().getOutHelpWidth?.() ?? COLUMNS;
      const lines = (EXAMPLES[fullName(command)] ?? []).map((example) => wrapped(example, columns));
      return `\nExamples:\n${lines.join('\n')}`;
    });
  }
}

/** A command that is longer than a line continues on the next one, as a shell reads it. */
function wrapped(example: string, columns: number): string {
  const lines: string[] = [];
  let line = ' ';
  for (const word of example.split(' ')) {
    if (`${line} ${word} \\`.length > columns) {
      lines.push(`${line} \\`);
      line = '   ';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}

/** The program, its commands and theirs. */
export function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}
