import {render} from 'preact';
import {beginSession} from './api/clients';
import {App} from './app';
import './console.css';

render(<App/>, document.getElementById('app')!);
void beginSession();
