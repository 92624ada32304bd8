import { expect, it } from 'vitest';
import { cudaNeeds, publishedSha256, TESTED_VERSIONS } from './wheels.js';

it('reads from the metadata of TensorFlow 2.15.1 which CUDA it needs', () => {
  const metadata = [
    'Requires-Dist: numpy (<2.0.0,>=1.23.5)',
    "Requires-Dist: nvidia-cublas-cu12 (==12.2.5.6) ; extra == 'and-cuda'",
    "Requires-Dist: nvidia-cuda-runtime-cu12 (==12.2.140) ; extra == 'and-cuda'",
    "Requires-Dist: nvidia-cudnn-cu12 (==8.9.4.25) ; extra == 'and-cuda'",
  ].join('\n');
  expect(cudaNeeds(metadata)).toEqual({
    cuda: '12.2.140',
    cudnn: '8.9.4.25',
    driver: 525,
    packages: [
      'nvidia-cublas-cu12==12.2.5.6',
      'nvidia-cuda-runtime-cu12==12.2.140',
      'nvidia-cudnn-cu12==8.9.4.25',
    ],
  });
});

it('reads from the metadata of TensorFlow 2.21.0 which CUDA it needs at least', () => {
  const metadata = [
    'Requires-Dist: nvidia-cuda-runtime-cu12<13.0,>=12.5.82; extra == "and-cuda"',
    'Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',
  ].join('\n');
  expect(cudaNeeds(metadata)).toMatchObject({ cuda: '12.5.82', cudnn: '9.3.0.75', driver: 525 });
});

it('a wheel for the CPU needs no CUDA', () => {
  expect(cudaNeeds('Requires-Dist: numpy (<2.0.0,>=1.23.5)')).toBeUndefined();
});

it('knows the checksum of every version that was tested', () => {
  for (const version of TESTED_VERSIONS) expect(publishedSha256('cpu', version)).toMatch(/^[0-9a-f]{64}$/);
});
