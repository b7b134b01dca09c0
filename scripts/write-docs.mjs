// Writes the pages that are made from tables in the code; needs a build, as it runs dist/.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { renderSettingsDoc } = require('../dist/config/settings-doc.js');
const { renderMetricsDoc } = require('../dist/observability/metrics-doc.js');

const PAGES = { 'settings.md': renderSettingsDoc(), 'metrics.md': renderMetricsDoc() };
for (const [name, text] of Object.entries(PAGES)) writeFileSync(new URL(`../docs/${name}`, import.meta.url), text);
