/** What lets a node that a benchmark starts load TypeScript where it lies. */

import path from 'node:path';

export const LOAD_TYPESCRIPT: string[] = ['--require', path.join(__dirname, '..', 'scripts', 'load-typescript.cjs')];
