import { COMM_HOOKS } from '@acc/contract';
import { expect, it } from 'vitest';
import { planFrom } from './plan.js';

it.each(Object.entries(COMM_HOOKS))(
  'a check with the hook %s expects the weights of one process unless it is lossy',
  (hook, { isLossy }) => {
    const { isRounded, leftOut } = planFrom([
      { section: 'accelerator', name: 'ddp.commHook', value: hook, origin: 'a file', fallback: 'none' },
    ]);
    expect(isRounded).toBe(true);
    expect('training' in leftOut).toBe(isLossy);
  },
);
