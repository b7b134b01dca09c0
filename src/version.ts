/** The version of this build, from package.json. */

import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Seen from `src/` and `dist/` alike. */
const PACKAGE_JSON = path.join(__dirname, '..', 'package.json');

export const VERSION = (JSON.parse(readFileSync(PACKAGE_JSON, 'utf8')) as { readonly version: string }).version;
