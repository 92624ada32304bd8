import { describe, expect, it } from 'vitest';
import { visibleVariables } from './variables.js';

describe('visibleVariables', () => {
  it("shows the launcher's and our variables, and no secret", () => {
    const env = {
      RANK: '0',
      ACC_JOB_TOKEN: 'abc',
      ACC_API_KEY: 'abc',
      ACC_LIBTORCH_URL: 'https://me:abc@mirror.example/libtorch',
      ACC_CACHE_DIR: '/cache',
      HOME: '/root',
      WANDB_API_KEY: 'abc',
    };
    const visible = visibleVariables(env);
    expect(visible).toEqual({
      ACC_API_KEY: '(set)',
      ACC_CACHE_DIR: '/cache',
      ACC_JOB_TOKEN: '(set)',
      ACC_LIBTORCH_URL: 'https://(hidden)@mirror.example/libtorch',
      RANK: '0',
    });
    expect(JSON.stringify(visible)).not.toContain('abc');
  });
});
