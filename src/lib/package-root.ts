/** The folder of the package, which contains lua/, proto/ and package.json beside src/ and dist/. */

import path from 'node:path';

export const PACKAGE_ROOT = path.join(__dirname, '..', '..');
