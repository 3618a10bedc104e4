# Draws what `train_bench` printed of two trainers: docs/research/central.sh scaling, and tests/docs/plots_test.py.
#   gnuplot -e "spe='FILE'; diprime='FILE'; picture='FILE.svg'" scaling.gp
set terminal svg size 720,480 background rgb 'white' font 'sans-serif,13'
set output picture
set logscale xy
set xlabel 'rows of 18 numeric features'
set ylabel 'seconds of one core'
set key top left
set grid lc rgb '#dddddd'
plot spe skip 1 using 1:2 with linespoints lw 2 pt 7 title 'spe', \
  diprime skip 1 using 1:2 with linespoints lw 2 pt 7 title 'diprime', \
  4e-7 * x with lines dt 2 lc rgb '#555555' title 'proportional to rows'
