import { mendTfjsNode } from '@acc/tfjs-internals';

mendTfjsNode();
