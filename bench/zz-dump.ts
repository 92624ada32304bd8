import { writeFileSync, readFileSync } from 'node:fs';
import { Recording } from '../packages/native/src/recording.js';
import { startTraining } from './training.js';
const [precision, model] = process.argv.slice(2);
const w = JSON.parse(readFileSync(new URL('./workloads.json', import.meta.url), 'utf8'))[model!];
let n = 0;
const seal = Recording.prototype.seal;
Recording.prototype.seal = function () {
  writeFileSync(`/tmp/fz/${model}-${precision}-${n++}.json`, this.describe());
  seal.call(this);
};
const t = await startTraining({ ...w, model, precision, threads: 1, batches: 2, warmupSteps: 4, blocks: 1, seed: 7, compile: true, device: 'cpu', resultPath: '' } as never);
console.log(t.firstLoss);
process.exit(0);
