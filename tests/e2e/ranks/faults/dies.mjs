import { atTraining } from './at-training.mjs';

atTraining(() => process.kill(process.pid, 'SIGKILL'));
