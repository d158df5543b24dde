"""What several families know: charts, pods, how long a thing may wait, and how advice is written."""
