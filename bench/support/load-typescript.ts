/** The node options that let a child process of a benchmark load TypeScript files. */

import path from 'node:path';

export const LOAD_TYPESCRIPT: string[] = ['--require', path.join(__dirname, '..', '..', 'scripts', 'process', 'load-typescript.cjs')];
