#!/usr/bin/env node
// The command of @acc/cli: `npx acc` works where this package alone was asked for.
import '@acc/cli/acc';
