// Trains deterministically on a number of ranks that does not divide the virtual shards, and ends with the error.
import { Accelerator } from '@acc/core';

await Accelerator.create({ deterministic: true });
