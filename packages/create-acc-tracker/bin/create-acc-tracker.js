#!/usr/bin/env node
// In the repository itself, so that npm links the command in a checkout that isn't built yet.
import { main } from '../dist/index.js';

process.exitCode = main(process.argv.slice(2));
