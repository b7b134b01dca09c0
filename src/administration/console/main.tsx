/** Entry of the console: shows the application in its page. */

import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';
import { App } from './app';
import { readSession } from './api/session';
import { applyTheme } from './api/theme';

const root = document.getElementById('console');
if (root === null) throw new Error('the page has no element for the console');
applyTheme();
void readSession();
render(<App />, root);
