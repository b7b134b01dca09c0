// Writes docs/settings.md from the settings table; needs a build, as it runs dist/.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { renderSettingsDoc } = require('../dist/config/settings-doc.js');

writeFileSync(new URL('../docs/settings.md', import.meta.url), renderSettingsDoc());
