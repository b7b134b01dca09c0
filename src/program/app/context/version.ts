/** The version of this build, from package.json. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../lib/package-root';

/** The path is right from `src/` and from `dist/`. */
const PACKAGE_JSON = path.join(PACKAGE_ROOT, 'package.json');

export const VERSION = (JSON.parse(readFileSync(PACKAGE_JSON, 'utf8')) as { readonly version: string }).version;
