import { requireNode } from '#platform/node-version';

requireNode();
